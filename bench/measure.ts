import { MEASURES } from './measures/index.ts'

const [name = '', options = '{}'] = process.argv.slice(2)
const measure = MEASURES[name]
if (measure === undefined)
  throw new Error(`There is no measurement '${name}'. Known: ${Object.keys(MEASURES).join(', ')}`)
const value = await (await measure())(JSON.parse(options) as never)
// Peers leave timers and sockets open: what was measured is all that is waited for.
process.send?.({ value }, () => process.exit(0))
