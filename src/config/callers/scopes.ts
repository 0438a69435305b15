import type { Role } from '../../core/storage/key-store.ts'

/**
 * What a key can be allowed: to look at lists, to call tools, to talk to models, to look at audit, runs and figures,
 * to record tests of models, to manage the tenant's keys; and, given by no role, to see all tenants.
 */
export const SCOPES = ['read', 'call', 'chat', 'observe', 'validate', 'manage', 'installation'] as const
export type Scope = (typeof SCOPES)[number]

/** What each allows, for people. */
export const SCOPE_WORDS: Readonly<Record<Scope, string>> = {
  read: 'lists of tools and models',
  call: 'calling tools, jobs, MCP',
  chat: 'asking models',
  observe: 'audit, runs, figures and limits of the tenant',
  validate: 'recording tests of models, running suites',
  manage: 'the keys of the tenant',
  installation: 'what is of all tenants: their audit, runs and figures, the MCP servers; with manage, their flags',
}

export const ROLES: Readonly<Record<Role, readonly Scope[]>> = {
  user: ['read', 'call', 'chat'],
  operator: ['read', 'call', 'chat', 'observe', 'validate'],
  admin: ['read', 'call', 'chat', 'observe', 'validate', 'manage'],
}
