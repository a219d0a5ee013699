/** @module What a verified access token says: who acts, for whom, in which tenant, allowed what (RFC 9068, RFC 8693 `act`). */
import { z } from 'zod'
import { VIA_MAX } from '../../schemas/header.ts'
import { RunId, Tenant } from '../../schemas/names.ts'
import { NAME_MAX_CHARS } from '../../schemas/value-forms.ts'

export const SCOPES = [
  'runs:write',
  'runs:read',
  'payloads:read',
  'runs:admin',
  'approvals:write',
  'signals:write',
  'audit:read',
  'audit:export',
  'subjects:erase',
  'metrics:read',
  'admin',
] as const
export type Scope = (typeof SCOPES)[number]

/** A token with this scope and no other lets its bearer read counters, never an event: it may live long enough for a scraper's settings. */
export const LONG_LIVED_SCOPE = 'metrics:read' satisfies Scope

/** The caller, as the ledger records it: every field comes from the token, none from a request. */
export interface Principal {
  readonly tenant: string
  /** The token's `sub`. */
  readonly subject: string
  /** Who acts: `act.sub`, else `sub`. */
  readonly actor: string
  /** For whom: `sub` where there is an `act`. */
  readonly principal?: string
  /** Actors before this one, nearest first. */
  readonly via?: readonly string[]
  /** What the bearer may decide (RFC 9068, section 2.2.3.1). */
  readonly roles?: readonly string[]
  readonly scopes: ReadonlySet<string>
  /** It reads no bodies, in the answers to what it writes either. */
  readonly withoutBodies?: true
  /** The one run the token is bound to. */
  readonly run?: string
  /** The one agent the token is bound to. */
  readonly agent?: string
  /** Milliseconds since 1970. */
  readonly expiresAt: number
}

/** RFC 8693 section 4.1: who acts now, and inside it who acted before. */
export interface ActClaim {
  readonly sub: string
  readonly act?: ActClaim | undefined
}

const SCOPE_MAX_CHARS = 2048
const ROLES_MAX = 64

const NameText = z
  .string()
  .min(1)
  .max(NAME_MAX_CHARS)
  .refine((text) => text.isWellFormed() && !/\p{Cc}/u.test(text))

const Claims = z.object({
  sub: NameText,
  tenant: Tenant,
  exp: z.number(),
  scope: z.string().max(SCOPE_MAX_CHARS).default(''),
  run: RunId.optional(),
  agent: NameText.optional(),
  roles: z.array(NameText).max(ROLES_MAX).optional(),
})

/** The caller that verified claims name; undefined where a name is not one that a header may hold. */
export function principalOf(payload: { readonly [claim: string]: unknown }): Principal | undefined {
  const claims = Claims.safeParse(payload)
  const actors = actorChain(payload.act)
  if (!claims.success || actors === undefined) return undefined

  const { sub, tenant, exp, scope, run, agent, roles } = claims.data
  const [actor, ...via] = actors
  return {
    tenant,
    subject: sub,
    actor: actor ?? sub,
    ...(actor !== undefined && { principal: sub }),
    ...(via.length > 0 && { via }),
    ...(roles !== undefined && roles.length > 0 && { roles }),
    scopes: new Set(scope.split(' ').filter((name) => name !== '')),
    ...(run !== undefined && { run }),
    ...(agent !== undefined && { agent }),
    expiresAt: exp * 1000,
  }
}

/** The `sub`s of nested `act` claims, outermost first; undefined where one is malformed or the chain is too long. */
function actorChain(act: unknown): readonly string[] | undefined {
  const actors: string[] = []
  for (let inner = act; inner !== undefined; ) {
    if (typeof inner !== 'object' || inner === null || actors.length > VIA_MAX) return undefined
    const { sub, act: deeper } = inner as { sub?: unknown; act?: unknown }
    const name = NameText.safeParse(sub)
    if (!name.success) return undefined
    actors.push(name.data)
    inner = deeper
  }
  return actors
}
