"""Quality of replays: time compared with the program's, engine time, agreement of drawn replays."""
