const INHERITED: readonly string[] =
  process.platform === 'win32'
    ? [
        // Nothing can be started on Windows without the most of these.
        'APPDATA',
        'COMSPEC',
        'HOMEDRIVE',
        'HOMEPATH',
        'LOCALAPPDATA',
        'PATH',
        'PATHEXT',
        'PROCESSOR_ARCHITECTURE',
        'PROGRAMDATA',
        'PROGRAMFILES',
        'SYSTEMDRIVE',
        'SYSTEMROOT',
        'TEMP',
        'TMP',
        'USERNAME',
        'USERPROFILE',
        'WINDIR',
      ]
    : ['PATH', 'HOME', 'LANG', 'TMPDIR', 'USER', 'SHELL', 'TERM']

/** What a server sees of our environment: what it takes to run at all, and what its own `env` names. */
export function serverEnvironment(env: Readonly<Record<string, string>> = {}): Record<string, string> {
  const seen: Record<string, string> = {}
  for (const name of INHERITED) {
    const value = process.env[name]
    if (value !== undefined) seen[name] = value
  }
  return { ...seen, ...env }
}
