/** @module `countersign token`: issues an access token for the keys of the data folder. */
import { randomUUID } from 'node:crypto'
import { RunId, Tenant } from '../../schemas/names.ts'
import { type IssuedToken, noteIssuedToken } from '../compose/issued-tokens.ts'
import { requireKeys } from '../settings/key-source.ts'
import { reasonOf } from '../settings/reason-of.ts'
import {
  type ActClaim,
  issueToken,
  LONG_LIVED_SCOPE,
  onlyReadsMetrics,
  SCOPES,
  SCRAPE_TOKEN_MAX_SECONDS,
  TOKEN_MAX_SECONDS,
  tokenSigner,
} from '../signing/tokens.ts'
import type { Arguments } from './arguments.ts'
import { usageFailure } from './failure.ts'
import { nameOf } from './name-flags.ts'
import { jsonLine, oneLine } from './shown.ts'

const TTL_DEFAULT = '1h'
const MS_PER_SECOND = 1_000
const SECONDS_OF: Readonly<Record<string, number>> = { s: 1, m: 60, h: 3_600, d: 86_400 }

export async function token(args: Arguments): Promise<number> {
  const request = tokenRequest(args)
  const { keys: place, issuer, audience } = args.settings
  const keys = requireKeys(place)
  const now = Date.now()
  const id = randomUUID()
  const made = await issueToken({ ...request, keys, issuer, audience, now, id })
  const { ttlSeconds, ...goodFor } = request
  const expires = new Date(now + ttlSeconds * MS_PER_SECOND).toISOString()
  const issued = { token: id, kid: tokenSigner(keys).kid, issuedAt: new Date(now).toISOString(), expires }
  const unrecorded = noteIssued(args.settings.data, issuedToken(request, issued))
  if (unrecorded !== undefined) process.stderr.write(`${oneLine(`this token is not recorded: ${unrecorded}`)}\n`)
  process.stdout.write(args.has('json') ? jsonLine({ token: made, expires, ...goodFor }) : `${made}\n`)
  return 0
}

/** The reason why the ledger will not record the token; undefined if it will. The token is issued anyway, because an operator with a full disk needs one. */
function noteIssued(data: string, token: IssuedToken): string | undefined {
  try {
    return noteIssuedToken(data, token) ? undefined : `there is no data folder ${data} that a ledger serves`
  } catch (error) {
    return reasonOf(error)
  }
}

function issuedToken(
  { subject, tenant, scopes, run, agent, roles, act }: ReturnType<typeof tokenRequest>,
  issued: Pick<IssuedToken, 'token' | 'kid' | 'issuedAt' | 'expires'>,
): IssuedToken {
  return {
    v: 1,
    ...issued,
    subject,
    forTenant: tenant,
    scopes: [...scopes],
    ...(run !== undefined && { run }),
    ...(agent !== undefined && { forAgent: agent }),
    ...(roles !== undefined && { roles: [...roles] }),
    ...(act !== undefined && { actor: act.sub }),
  }
}

function tokenRequest({ text }: Arguments) {
  const tenant = Tenant.safeParse(text('tenant') ?? 'default')
  if (!tenant.success) throw usageFailure(`--tenant: ${tenant.error.issues[0]?.message}`)
  const run = RunId.optional().safeParse(text('run'))
  if (!run.success) throw usageFailure(`--run: ${run.error.issues[0]?.message}`)
  const scopes = scopesOf(text('scope'))
  return {
    scopes,
    tenant: tenant.data,
    subject: nameOf('sub', text('sub')) ?? 'local',
    run: run.data,
    agent: nameOf('agent', text('agent')),
    roles: rolesOf(text('role')),
    act: actOf(nameOf('act', text('act'))),
    ttlSeconds: secondsOf(text('ttl') ?? TTL_DEFAULT, scopes),
  }
}

function scopesOf(text: string | undefined): readonly string[] {
  const scopes = (text ?? '').split(/[\s,]+/).filter((scope) => scope !== '')
  if (scopes.length === 0) throw usageFailure(`--scope is missing: one or more of ${SCOPES.join(' ')}`)
  const known: readonly string[] = SCOPES
  const unknown = scopes.find((scope) => !known.includes(scope))
  if (unknown !== undefined) throw usageFailure(`--scope: "${unknown}" is not one of ${SCOPES.join(' ')}`)
  return scopes
}

/** Comma-separated role names, which determine the decisions that the bearer may make. */
export function rolesOf(text: string | undefined): readonly string[] | undefined {
  if (text === undefined) return undefined
  return text.split(',').map((role) => nameOf('role', role.trim()) ?? '')
}

function actOf(sub: string | undefined): ActClaim | undefined {
  return sub === undefined ? undefined : { sub }
}

/** The ledger refuses tokens with a longer lifetime. */
function secondsOf(text: string, scopes: readonly string[]): number {
  const [, count, unit] = /^(\d{1,6})(s|m|h|d)$/.exec(text) ?? []
  const seconds = Number(count) * (SECONDS_OF[unit ?? ''] ?? Number.NaN)
  const longest = onlyReadsMetrics(new Set(scopes)) ? SCRAPE_TOKEN_MAX_SECONDS : TOKEN_MAX_SECONDS
  if (seconds >= 1 && seconds <= longest) return seconds
  const limit = `at most 24h (with no scope but ${LONG_LIVED_SCOPE}, at most 366d)`
  throw usageFailure(`--ttl: "${text}" is no time such as 30m or 1h, of ${limit}`)
}
