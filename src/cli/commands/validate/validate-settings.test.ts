import { describe, expect, test } from 'vitest'
import { UsageError } from '../../common/terminal.ts'
import { type ValidateOptions, validateSettings } from './validate-settings.ts'

describe('the options of toolyard validate', () => {
  test('without any: the generated suite, once, for one USD at most', () => {
    expect(validateSettings({})).toEqual({
      models: undefined,
      suites: ['generated'],
      limit: undefined,
      repeat: 1,
      concurrency: 4,
      budget: { cost: 1 },
      gate: undefined,
      reports: [],
      out: undefined,
      fresh: false,
    })
  })

  test('with all of them', () => {
    expect(
      validateSettings({
        models: 'openai:gpt-4o, ollama:llama3.2:3b,openai:gpt-4o',
        suite: ['bfcl:simple', 'cases.json', 'bfcl:simple'],
        limit: '50',
        repeat: '3',
        concurrency: '2',
        budget: '0.5',
        budgetTokens: '10000',
        gate: '0.8',
        report: ['a.json', 'b.XML', 'c.html'],
        out: 'x.jsonl',
        fresh: true,
      }),
    ).toEqual({
      models: ['openai:gpt-4o', 'ollama:llama3.2:3b'],
      suites: ['bfcl:simple', 'cases.json'],
      limit: 50,
      repeat: 3,
      concurrency: 2,
      budget: { cost: 0.5, tokens: 10_000 },
      gate: 0.8,
      reports: ['a.json', 'b.XML', 'c.html'],
      out: 'x.jsonl',
      fresh: true,
    })
  })

  test.each<[ValidateOptions, string]>([
    [{ limit: '0' }, "--limit takes a whole number from 1, not '0'."],
    [{ limit: 'all' }, "--limit takes a whole number from 1, not 'all'."],
    [{ repeat: '1.5' }, "--repeat takes a whole number from 1 to 1000, not '1.5'."],
    [{ concurrency: '101' }, "--concurrency takes a whole number from 1 to 100, not '101'."],
    [{ budget: '-1' }, "--budget takes an amount of money, 0 or more, not '-1'."],
    [{ budget: '' }, "--budget takes an amount of money, 0 or more, not ''."],
    [{ budget: 'Infinity' }, "--budget takes an amount of money, 0 or more, not 'Infinity'."],
    [{ budgetTokens: '1e99' }, "--budget-tokens takes a whole number from 1, not '1e99'."],
    [{ gate: '80' }, "--gate takes a rate from 0 to 1, not '80'."],
    [{ models: 'a:b,,c:d' }, '--models takes models separated by commas'],
    [{ report: ['report.pdf'] }, "--report takes a file that ends in .json, .xml, .html, not 'report.pdf'."],
    [{ out: '' }, '--out needs a file name, but got an empty string.'],
  ])('%j is wrong usage', (options, message) => {
    expect(() => validateSettings(options)).toThrow(UsageError)
    expect(() => validateSettings(options)).toThrow(message)
  })
})
