/** The command line of Toolyard as it ships, in a process that also tells its parent what it uses. */
import { reportUsage } from './report-usage.ts'

reportUsage()
await import('../../bin/toolyard.js' as string)
