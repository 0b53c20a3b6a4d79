// nothing
/* at all */
/** and no doc */
