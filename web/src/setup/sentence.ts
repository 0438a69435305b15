/** The server's reasons are parts of sentences. Beside other sentences they need a capital and a full stop. */
export const sentence = (text: string): string => {
  const whole = `${text.slice(0, 1).toUpperCase()}${text.slice(1)}`
  return /[.!?…]$/.test(whole) ? whole : `${whole}.`
}
