"""The programs that the dissertation used, built from sources that the user gives."""
