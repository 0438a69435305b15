/** The server's reasons have no full stop. Beside other sentences they need one. */
export const sentence = (text: string): string => (/[.!?…]$/.test(text) ? text : `${text}.`)
