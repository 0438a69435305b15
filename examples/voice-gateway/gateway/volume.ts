import { type Handler, ToolExecutionError } from 'toolyard'
import { runCommand } from './run-command.ts'

/** Where the volume is kept. */
export interface Mixer {
  readonly get: () => Promise<number>
  readonly set: (level: number) => Promise<void>
}

const LOOK_MS = 3_000
const STEP = 10
const FIRST_LEVEL = 50

/** The mixer of the machine (ALSA), where it has one; else a number that is only kept. */
export async function openMixer(): Promise<Mixer> {
  const alsa: Mixer = {
    get: async () => {
      const [, percent] =
        /\[(\d{1,3})%\]/.exec(await runCommand(['amixer', '-M', 'sget', 'Master'], { timeoutMs: LOOK_MS })) ?? []
      if (percent === undefined) throw new Error('amixer named no volume')
      return Number(percent)
    },
    set: async (level) => {
      await runCommand(['amixer', '-M', '-q', 'sset', 'Master', `${level}%`], { timeoutMs: LOOK_MS })
    },
  }
  try {
    await alsa.get()
    return alsa
  } catch {
    let kept = FIRST_LEVEL
    return {
      get: async () => kept,
      set: async (level) => {
        kept = level
      },
    }
  }
}

/** The handler of the tool `volume`; every change is told to `changed`. */
export function volumeHandler(mixer: Mixer, changed: (level: number) => void): Handler {
  return async ({ operation, level, step = STEP }) => {
    if (operation === 'set' && level === undefined) {
      throw new ToolExecutionError('INVALID_PARAMETERS', "Invalid parameters: missing 'level' for the operation set")
    }
    const before = await mixer.get()
    const wanted = { get: before, set: Number(level), up: before + Number(step), down: before - Number(step) }
    const after = Math.min(100, Math.max(0, wanted[operation as keyof typeof wanted]))
    if (operation === 'get') return { volume: before }
    await mixer.set(after)
    changed(after)
    return { volume: after, before }
  }
}
