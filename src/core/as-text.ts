/** A result as text, for those who take nothing else: a string as it is, anything else as JSON. */
export const asText = (result: unknown): string => (typeof result === 'string' ? result : JSON.stringify(result))
