const TOKEN = /^[\w!#$%&'*+.^`|~-]+$/

/** What belongs to the connection, or says where a message ends: whoever sets it can smuggle a second request. */
const OF_THE_CONNECTION: ReadonlySet<string> = new Set([
  'connection',
  'content-length',
  'expect',
  'host',
  'keep-alive',
  'te',
  'trailer',
  'transfer-encoding',
  'upgrade',
])

/** What says how the body is written, or has a place of its own. */
const NOT_FOR_PARAMETERS: ReadonlySet<string> = new Set(['content-type', 'content-encoding', 'cookie'])

/** Whether a header can be called so. */
export const isHeaderName = (name: string): boolean => TOKEN.test(name)

/** Whether a header, in lower case, is the connection's and nobody else's. */
export const isOfTheConnection = (name: string): boolean => OF_THE_CONNECTION.has(name) || name.startsWith('proxy-')

/** Whether a parameter may be sent in a header, in lower case. */
export const isForParameters = (name: string): boolean => !isOfTheConnection(name) && !NOT_FOR_PARAMETERS.has(name)
