"""What people and files give: checked, read and written."""
