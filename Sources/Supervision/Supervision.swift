// Supervision
