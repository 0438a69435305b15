/** The thread of `ConnectionGuard`: reads tables of the kernel, which takes long if there are many connections. */
import { parentPort } from 'node:worker_threads'
import { type Answer, areFromChild, type Question } from './socket-owners.ts'

parentPort?.on('message', (question: Question) => {
  const answer: Answer = { id: question.id, fromChild: areFromChild(question) }
  parentPort?.postMessage(answer)
})
