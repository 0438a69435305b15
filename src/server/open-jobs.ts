import type { Installation } from '../config/installation.ts'
import { Jobs } from './jobs/jobs.ts'
import { SUITES, suiteTask } from './suites/suite-task.ts'

/** The jobs of an installation. */
export async function openJobs(installation: Installation): Promise<Jobs> {
  const tasks = new Map([[SUITES, suiteTask(installation)]])
  return new Jobs({ installation, queue: await installation.openJobQueue(), tasks })
}
