import type { FastifyInstance } from 'fastify'
import { ToolCallDoor } from '../execute/tool-call-door.ts'
import type { Gate } from '../gate.ts'
import type { Service } from '../service.ts'

/** `POST /tools/execute`, answered by a door of its own before Fastify would read the body. */
export function executeRoute(app: FastifyInstance, service: Service, gate: Gate): void {
  const door = new ToolCallDoor(service, gate)
  app.post(
    '/tools/execute',
    {
      config: { scope: 'call' },
      onRequest: (request, reply) => {
        reply.hijack()
        door.handle(request, reply)
      },
    },
    () => {},
  )
}
