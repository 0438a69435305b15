import { readFile } from 'node:fs/promises'
import { expect, test } from 'vitest'
import { AddressRules } from './address-rules.ts'
import { ask } from './fixtures/ask.ts'
import { recordedAgent } from './fixtures/recorded-agent.ts'
import { refusalOf } from './fixtures/refusal-of.ts'
import { SSRF_TABLE, type Trick } from './fixtures/ssrf-table.ts'
import { NetworkRules, refusedAddress } from './network-rules.ts'

const page = await readFile(new URL('../../../../docs/concepts/network-safety.md', import.meta.url), 'utf8')

const code = (text: string): string => `\`${text.replace(/[\t\r\n]/g, (one) => JSON.stringify(one).slice(1, -1))}\``

/** A row of the page: the trick, what is asked for and what that resolves to, and the reason as it is printed. */
async function rowOf(row: Trick): Promise<string> {
  const { said = '' } = await refusalOf(row)
  const reason = /was refused: (.+?)\. /.exec(`${said} `)?.[1] ?? said
  const answers = row.answers?.map((answer) => answer.map(code).join(' and ')).join(', then ')
  return `| ${row.trick} | ${code(row.url)}${answers === undefined ? '' : `, which is ${answers}`} | ${reason} |`
}

test('the page lists every attack of the table with the reason of its refusal', async () => {
  const [, section = ''] = page.split('\n## Tested attacks\n')
  const rows = section.split('\n').filter((line) => /^\| (?!attack \||--- \|)/.test(line))
  for (const [index, row] of SSRF_TABLE.entries()) expect(rows[index]).toBe(await rowOf(row))
  expect(rows).toHaveLength(SSRF_TABLE.length)
})

test('the page shows the messages as they are printed', async () => {
  const rules = new NetworkRules({})
  const narrow = new NetworkRules({ allowed_domains: ['*.example.org'] })
  const own = new URL('https://api.example.com/v1')
  const refusal = (url: string, network = rules.forTool(own)) => network.refusal(new URL(url))
  const { agent } = recordedAgent(rules.addresses, [['10.1.2.3']])
  const sentenceOf = (read: () => unknown) => {
    try {
      return read()
    } catch (error) {
      return (error as Error).message
    }
  }
  const printed = [
    refusal('http://127.0.0.1:4747/', rules.forTool(new URL('http://127.0.0.1:4747/'))),
    refusedAddress(await ask(agent, own))?.message,
    refusal('https://files.example.com/1'),
    narrow.forTool(own).refusal(own),
    refusal('https://files.example.com/1', rules.forTool(own, ['api.example.com'])),
    refusal('https://api.example.com:8443/'),
    refusal('https://me:secret@api.example.com/'),
    refusal('ftp://api.example.com/'),
    sentenceOf(() => new AddressRules(['10.1.2.0/33'])),
    sentenceOf(() => new AddressRules(['10.1.2.3/24'])),
    sentenceOf(() => rules.forTool(own, ['https://api.example.com'])),
  ]
  const [, block = ''] = /\n## Messages\n.*?\n```\n(.*?)```\n/s.exec(page) ?? []
  expect(block.split('\n').filter((line) => line !== '')).toEqual(printed)
})
