/** Which definitions of a server's tools were approved: fingerprints by server and tool. */
export interface PinStore {
  read(server: string): Promise<Readonly<Record<string, string>> | undefined>
  write(server: string, pins: Readonly<Record<string, string>>): Promise<void>
}
