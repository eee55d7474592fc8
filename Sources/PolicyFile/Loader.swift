// The reader of policy files.
