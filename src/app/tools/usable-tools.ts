import { missingPermission } from '../../core/execution/permit.ts'
import type { ToolDefinition } from '../../core/tool.ts'
import type { Caller } from '../callers/callers.ts'
import type { Tenants } from '../callers/tenants.ts'
import type { ToolManager } from './tool-manager.ts'

/** The tools that the caller may use. */
export function usableTools(
  { manager, tenants }: { readonly manager: ToolManager; readonly tenants: Tenants },
  { id, tenant, tools }: Pick<Caller, 'tenant' | 'tools'> & { readonly id?: string },
): ToolDefinition[] {
  const rights = { tenant, caller: id, flags: tenants.flags(tenant), tools }
  const registry = manager.getRegistry()
  return registry
    .definitions(rights)
    .filter((tool) => missingPermission(tool, rights) === undefined)
    .map((tool) => registry.shownTo(tool, rights))
}
