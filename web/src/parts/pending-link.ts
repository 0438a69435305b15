/** Where the session storage keeps the query of a connect URL during sign-in. */
export const PENDING_LINK = 'toolyard-connect'
