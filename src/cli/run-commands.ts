import type { Command } from 'commander'
import type { Terminal } from './terminal.ts'

const RUNS_HELP = `
A run is one question to a model, with all its turns and tool calls. A cassette is a run as a file: it can be replayed
without the model and the tools, and be made a case that other models are tested with.

Examples:
  $ toolyard runs list --limit 5
  $ toolyard runs save 6d1f0a52-8d4e-4d0a-9a43-5d6f3c1f7a11 --out weather.cassette.json
  $ toolyard runs replay weather.cassette.json
  $ toolyard runs save 6d1f0a52-8d4e-4d0a-9a43-5d6f3c1f7a11 --as-case >> cases.jsonl
  $ toolyard validate --suite cases.jsonl`

const VALIDATIONS_HELP = `
Examples:
  $ toolyard validations list
  $ toolyard validations export known.json
  $ toolyard validations import known.json`

/** `toolyard runs …` and `toolyard validations …`: what was asked and answered, and what is known of models from it. */
export function addRunCommands(program: Command, terminal: Terminal, done: (code: number) => void): void {
  addRuns(program, terminal, done)
  addValidations(program, terminal, done)
}

const TENANT = ['--tenant <id>', 'whose; else local'] as const

function addRuns(program: Command, terminal: Terminal, done: (code: number) => void): void {
  const runs = program
    .command('runs')
    .description('what was asked and answered: look at it, save and replay it')
    .addHelpText('after', RUNS_HELP)

  runs
    .command('list')
    .description('list runs, the newest first')
    .option(...TENANT)
    .option('--model <id>', 'only of this model, as provider:model')
    .option('--stop-reason <reason>', 'only those that ended so, such as error')
    .option('--limit <n>', 'at most so many, 1 to 200; else 50')
    .option('--cursor <text>', 'go on where the last list ended')
    .action(async (_, command: Command) => {
      const { runsList } = await import('./commands/runs-list.ts')
      done(await runsList(terminal, command.optsWithGlobals()))
    })

  runs
    .command('show')
    .description('show a run with every step')
    .argument('<id>', 'its id, as runs list shows it')
    .option(...TENANT)
    .action(async (id: string, _, command: Command) => {
      const { runsShow } = await import('./commands/runs-show.ts')
      done(await runsShow(terminal, id, command.optsWithGlobals()))
    })

  runs
    .command('save')
    .description('print a run as a cassette, or as a case for a suite')
    .argument('<id>', 'its id, as runs list shows it')
    .option(...TENANT)
    .option('--out <file>', 'write it to a file instead')
    .option('--as-case', 'a case: the same question, with the calls of the run as those expected')
    .action(async (id: string, _, command: Command) => {
      const { runsSave } = await import('./commands/runs-save.ts')
      done(await runsSave(terminal, id, command.optsWithGlobals()))
    })

  runs
    .command('replay')
    .description('run a cassette without its model and tools; exit code 1 where it goes another way')
    .argument('<file>', 'a cassette')
    .option('--loose', 'calls may come in any order, and messages may differ')
    .action(async (file: string, _, command: Command) => {
      const { runsReplay } = await import('./commands/runs-replay.ts')
      done(await runsReplay(terminal, file, command.optsWithGlobals()))
    })
}

function addValidations(program: Command, terminal: Terminal, done: (code: number) => void): void {
  const validations = program
    .command('validations')
    .description('how well models use tools, from suites and real runs')
    .addHelpText('after', VALIDATIONS_HELP)

  validations
    .command('list')
    .description('list what is known of each model with each tool')
    .option(...TENANT)
    .action(async (_, command: Command) => {
      const { validationsList } = await import('./commands/validations-list.ts')
      done(await validationsList(terminal, command.optsWithGlobals()))
    })

  validations
    .command('export')
    .description('write it to a JSON file')
    .argument('<file>', 'the file')
    .option(...TENANT)
    .action(async (file: string, _, command: Command) => {
      const { validationsExport } = await import('./commands/validations-export.ts')
      done(await validationsExport(terminal, file, command.optsWithGlobals()))
    })

  validations
    .command('import')
    .description('put what is in a file in the place of what is known')
    .argument('<file>', 'a file that export wrote')
    .option(...TENANT)
    .action(async (file: string, _, command: Command) => {
      const { validationsImport } = await import('./commands/validations-import.ts')
      done(await validationsImport(terminal, file, command.optsWithGlobals()))
    })
}
