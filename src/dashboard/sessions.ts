/**
 * @module Sessions on the server: the cookie is a random id and never the token, so that signing out ends a session for good, the browser stores no token, and
 * the cookie is small. After a restart, or in another process, a new sign-in is needed.
 */
import { createHash, randomBytes } from 'node:crypto'
import { setMaxListeners } from 'node:events'
import { LRUCache } from 'lru-cache'
import type { MemoryBudget } from '../resources/memory-budget.ts'
import type { Principal } from '../signing/tokens.ts'

export interface Session {
  /** Key in the session table: a hash of the cookie. */
  readonly name: string
  /** Secret that every form of the session must contain. */
  readonly csrf: string
  /** Verified again on each request. */
  readonly token: string
  readonly subject: string
  /** Aborted when the session ends, which ends its open streams. */
  readonly over: AbortController
}

/** Size of a session without its token: its secrets, its signal, and its name in the list of its subject. */
const SESSION_BYTES = 1_280
/** A subject that signs in repeatedly evicts only its own sessions. */
const PER_SUBJECT_MAX = 20
const ID_BYTES = 32

export interface Sessions {
  /** Returns the cookie value of the new session. */
  create(token: string, principal: Principal): string
  find(cookie: string | undefined): Session | undefined
  end(session: Session): void
}

export function createSessions(now: () => number, memory: MemoryBudget): Sessions {
  const sessions = new LRUCache<string, Session>({
    maxSize: memory.limitOf('sessions'),
    sizeCalculation: ({ token, subject }) => SESSION_BYTES + 2 * (token.length + 2 * subject.length),
    perf: { now },
    dispose: (session, name) => {
      session.over.abort()
      unlist(session.subject, name)
    },
  })
  /** Names of existing sessions only, so that the map is bounded by the number of sessions. */
  const bySubject = new Map<string, readonly string[]>()
  memory.watch('sessions', () => sessions.calculatedSize)

  const unlist = (subject: string, gone: string): void => {
    const names = (bySubject.get(subject) ?? []).filter((name) => name !== gone)
    if (names.length === 0) bySubject.delete(subject)
    else bySubject.set(subject, names)
  }
  return {
    create: (token, { tenant, subject, expiresAt }) => {
      const cookie = randomBytes(ID_BYTES).toString('base64url')
      const name = nameOf(cookie)
      const owner = JSON.stringify([tenant, subject])
      const names = bySubject.get(owner) ?? []
      for (const oldest of names.slice(0, Math.max(0, names.length - PER_SUBJECT_MAX + 1))) sessions.delete(oldest)
      const csrf = randomBytes(ID_BYTES).toString('base64url')
      const over = new AbortController()
      // Every stream of the session adds a listener: many listeners are not a leak.
      setMaxListeners(0, over.signal)
      sessions.set(name, { name, csrf, token, subject: owner, over }, { ttl: Math.max(1, expiresAt - now()) })
      // A session larger than the whole cache is not stored.
      if (sessions.has(name)) bySubject.set(owner, [...(bySubject.get(owner) ?? []), name])
      return cookie
    },
    find: (cookie) => (cookie === undefined ? undefined : sessions.get(nameOf(cookie))),
    end: ({ name }) => void sessions.delete(name),
  }
}

/** Sessions are looked up by hash: the timing reveals nothing about a cookie, and a stored hash cannot be used as a cookie. */
function nameOf(cookie: string): string {
  return createHash('sha256').update(cookie).digest('base64url')
}
