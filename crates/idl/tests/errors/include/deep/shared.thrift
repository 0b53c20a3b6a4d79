struct Other {}
