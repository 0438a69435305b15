import { parseArgs } from 'node:util'
import { contenders } from './contenders/index.ts'
import { loopContenders } from './loop-contenders/index.ts'
import { sections } from './sections/index.ts'

export interface Options {
  readonly quick: boolean
  readonly json: string | undefined
  readonly writeDocs: boolean
  /** Ids of contenders and loops; empty for all. */
  readonly contenders: readonly string[]
  /** Ids of sections. */
  readonly sections: readonly string[]
}

const names = (of: readonly { id: string }[]) => of.map(({ id }) => id)

export const HELP = `npm run bench -- [options]

  --quick        a smoke run of four minutes; its numbers mean little
  --only NAME    a section, a contender or a loop; may be given more than once
  --json FILE    writes the raw numbers
  --write-docs   puts the tables of the whole sections that were run into docs/internals/performance.md

sections:   ${names(sections).join(', ')}
contenders: ${names(contenders).join(', ')}
loops:      ${names(loopContenders).join(', ')}
`

/** Reads the command line; throws a sentence where it makes no sense. */
export function readOptions(args: readonly string[]): Options | 'help' {
  const { values } = parseArgs({
    args: [...args],
    options: {
      quick: { type: 'boolean', default: false },
      json: { type: 'string' },
      only: { type: 'string', multiple: true, default: [] },
      'write-docs': { type: 'boolean', default: false },
      help: { type: 'boolean', short: 'h', default: false },
    },
  })
  if (values.help) return 'help'
  const onlySections = values.only.filter((name) => names(sections).includes(name))
  const onlyContenders = values.only.filter((name) => names(contenders).includes(name))
  const onlyLoops = values.only.filter((name) => names(loopContenders).includes(name))
  const known = [...onlySections, ...onlyContenders, ...onlyLoops]
  const unknown = values.only.find((name) => !known.includes(name))
  if (unknown !== undefined) throw new Error(`There is no section, contender or loop '${unknown}'. See --help.`)
  if (values['write-docs'] && (values.quick || onlyContenders.length + onlyLoops.length > 0)) {
    throw new Error('--write-docs needs whole sections: leave out --quick, and name sections only.')
  }
  const implied = [...(onlyContenders.length > 0 ? ['direct'] : []), ...(onlyLoops.length > 0 ? ['loop'] : [])]
  return {
    quick: values.quick,
    json: values.json,
    writeDocs: values['write-docs'],
    contenders: [...onlyContenders, ...onlyLoops],
    sections: values.only.length === 0 ? names(sections) : [...implied, ...onlySections],
  }
}
