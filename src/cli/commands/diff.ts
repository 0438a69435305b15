import type { Command } from 'commander'
import { compareDefinitions } from '../../app/versions/schema-diff.ts'
import type { ToolRegistry } from '../../core/execution/tool-registry.ts'
import { pinnedName } from '../../core/execution/tool-view.ts'
import type { ToolDefinition } from '../../core/tool.ts'
import { awaitServers, openManager, SHORT_WAIT_MS } from '../common/open.ts'
import { actions, type Done, type GlobalOptions, printableLine, type Terminal, UsageError } from '../common/terminal.ts'

export function defineDiff(diff: Command, terminal: Terminal, done: Done): void {
  diff
    .argument('<before>', 'a version, such as get_weather@1.0.0')
    .argument('<after>', 'the version to compare it with')
    .addHelpText('after', '\nExit code 1 if a change is breaking: calls that worked may fail, or run differently.')
    .action(actions(terminal, done)(showDiff))
}

/** `toolyard diff NAME@1 NAME@2`: what changed for callers. */
async function showDiff(terminal: Terminal, before: string, after: string, options: GlobalOptions): Promise<number> {
  const open = await openManager(terminal, options, { record: false, secrets: false })
  try {
    await awaitServers(open.manager, { ms: SHORT_WAIT_MS, terminal })
    const registry = open.manager.getRegistry()
    const [old, now] = [known(registry, before), known(registry, after)]
    const changes = compareDefinitions(old, now)
    const breaking = changes.some((one) => one.breaking)
    if (terminal.json) {
      terminal.document({ before: pinnedName(old), after: pinnedName(now), breaking, changes })
    } else {
      for (const one of changes)
        terminal.result(printableLine(`${one.breaking ? 'breaking  ' : 'ok        '}${one.change}`))
      const words = changes.length === 0 ? 'Nothing changed for callers.' : breaking ? 'Breaking.' : 'Not breaking.'
      terminal.note(words)
    }
    return breaking ? 1 : 0
  } finally {
    await open.close()
  }
}

function known(registry: ToolRegistry, name: string): ToolDefinition {
  const tool = registry.find(name)
  if (tool !== undefined) return registry.definitionOf(tool)
  const [plain = ''] = name.split('@')
  const versions = registry.versionsOf(plain).map(pinnedName)
  const hint = versions.length > 0 ? `there are ${versions.join(', ')}` : 'see "toolyard tools"'
  throw new UsageError(`There is no tool '${printableLine(name)}': ${hint}.`)
}
