import type { Installation } from '../config/installation.ts'
import { Jobs } from './jobs/jobs.ts'

/** The jobs of an installation. */
export async function openJobs(installation: Installation): Promise<Jobs> {
  return new Jobs({ installation, queue: await installation.openJobQueue() })
}
