import { spawnSync } from 'node:child_process'

/**
 * Linux ends a process with its parent when asked to, even one that is caught in a loop; Node has no word for it, these
 * tools of util-linux do. `prlimit` keeps an abort for lack of memory from leaving a core dump.
 */
const GUARDS: readonly (readonly string[])[] = [
  ['/usr/bin/prlimit', '--core=0', '--'],
  ['/usr/bin/setpriv', '--pdeathsig', 'KILL', '--no-new-privs', '--'],
]

/** The words to put before a command, from those guards that work here. */
export function processGuard(guards: readonly (readonly string[])[] = GUARDS): string[] {
  return guards.flatMap((guard) => {
    const [program = '', ...args] = guard
    // A command that is sure to be there, and quick: our own process waits for it.
    const trial = [...args, program, '--version']
    const works = process.platform === 'linux' && spawnSync(program, trial, { stdio: 'ignore', env: {} }).status === 0
    return works ? guard : []
  })
}
