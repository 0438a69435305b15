import type { Installation } from '../config/installation.ts'
import { LocalJobQueue } from '../storage/local-job-queue.ts'
import { Jobs } from './jobs/jobs.ts'

/** The jobs of an installation. */
export function openJobs(installation: Installation): Jobs {
  const { storage, clock, log } = installation
  return new Jobs({ installation, queue: new LocalJobQueue(storage.jobs, { clock, log }) })
}
