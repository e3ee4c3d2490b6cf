"""Signal: whose answers say anything about the tasks."""
