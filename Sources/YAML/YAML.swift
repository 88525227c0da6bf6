// YAML
