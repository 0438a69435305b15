import { MEASURES } from './measures/index.ts'

// Whoever asked has gone: nobody wants the numbers any more.
process.on('disconnect', () => process.exit(1))

const [name = '', options = '{}'] = process.argv.slice(2)
const measure = MEASURES[name]
if (measure === undefined)
  throw new Error(`There is no measurement '${name}'. Known: ${Object.keys(MEASURES).join(', ')}`)
const value = await (await measure())(JSON.parse(options) as never)
// Peers leave timers and sockets open: what was measured is all that is waited for.
process.send?.({ value }, () => process.exit(0))
