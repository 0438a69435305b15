import type { Command } from 'commander'
import type { Terminal } from './terminal.ts'

const HELP = `
Reads OpenAPI 3 and Swagger 2, in JSON or YAML. Every operation becomes a tool in one file beside the configuration,
which includes it; the same command again shows what has changed and replaces the file. What cannot be mapped is listed
with its reason.

Examples:
  $ toolyard import openapi petstore.yaml --prefix pets
  $ toolyard import openapi https://api.example.com/openapi.json --include users /orders
  $ toolyard import openapi petstore.yaml --dry-run`

/** `toolyard import …`. */
export function addImportCommands(program: Command, terminal: Terminal, done: (code: number) => void): void {
  const imports = program.command('import').description('make tools from the description of an API')

  imports
    .command('openapi')
    .description('write a tool for every operation of an OpenAPI document')
    .argument('<source>', 'a file, or an http or https address')
    .option('--include <what...>', 'only operations with these tags, paths, operation ids or names')
    .option('--prefix <prefix>', 'what every name begins with')
    .option('--base-url <url>', 'where the API is, instead of what the document says')
    .option('--into <file>', 'the file, from the folder of the configuration: else tools/<title>.json')
    .option('--dry-run', 'show what would change, and write nothing')
    .addHelpText('after', HELP)
    .action(async (source: string, _, command: Command) => {
      const { importOpenapi } = await import('./commands/import-openapi.ts')
      done(await importOpenapi(terminal, source, command.optsWithGlobals()))
    })
}
