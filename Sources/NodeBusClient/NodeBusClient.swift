// NodeBusClient
