/** @module The claims of a verified access token: the actor, the principal it acts for, the tenant and the scopes (RFC 9068, RFC 8693 `act`). */
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
  'holds:write',
  'metrics:read',
  'admin',
] as const
export type Scope = (typeof SCOPES)[number]

/** A token with this scope alone reads counters and never an event, so it may live long enough for a scraper's settings. */
export const LONG_LIVED_SCOPE = 'metrics:read' satisfies Scope

/** The caller, as the ledger records it: every field comes from the token, none from a request. */
export interface Principal {
  readonly tenant: string
  /** The token's `sub`. */
  readonly subject: string
  /** The acting party: `act.sub`, or else `sub`. */
  readonly actor: string
  /** The party acted for: `sub`, if there is an `act`. */
  readonly principal?: string
  /** Earlier actors, most recent first. */
  readonly via?: readonly string[]
  /** Roles by which the bearer may decide (RFC 9068, section 2.2.3.1). */
  readonly roles?: readonly string[]
  readonly scopes: ReadonlySet<string>
  /** The bearer must not see bodies, not even in the answers to its own writes. */
  readonly withoutBodies?: true
  /** The one run that the token is bound to. */
  readonly run?: string
  /** The one agent that the token is bound to. */
  readonly agent?: string
  /** The token's `jti`, by which it can be revoked; absent if it has none. */
  readonly tokenId?: string
  /** The token's `iat` in milliseconds since 1970; absent if it has none. */
  readonly issuedAt?: number
  /** Milliseconds since 1970. */
  readonly expiresAt: number
}

/** RFC 8693 section 4.1: the current actor, with the earlier actors nested inside. */
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

/** The caller named by verified claims; undefined if a name is not valid in a header. */
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
    ...(typeof payload.jti === 'string' && payload.jti !== '' && { tokenId: payload.jti }),
    ...(typeof payload.iat === 'number' && { issuedAt: payload.iat * 1000 }),
    expiresAt: exp * 1000,
  }
}

/** The `sub`s of nested `act` claims, outermost first; undefined if one is malformed or the chain is too long. */
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
