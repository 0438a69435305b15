import { spawnSync } from 'node:child_process'

/** Whether a process is there and still has this text in its command line; a zombie is not there. */
export function isRunning(pid: number, commandHas: string): boolean {
  const { stdout } = spawnSync('ps', ['-ww', '-o', 'stat=,command=', '-p', String(pid)], { encoding: 'utf8' })
  const line = stdout.trim()
  return line !== '' && !line.startsWith('Z') && line.includes(commandHas)
}
