/**
 * @module Sessions live on the server: the cookie is a random id, never the token, so that signing out ends a session for good, the
 * token stands in no cookie jar, and a cookie stays small. A restart or another process asks to sign in again.
 */
import { createHash, randomBytes } from 'node:crypto'
import { setMaxListeners } from 'node:events'
import { LRUCache } from 'lru-cache'
import type { MemoryBudget } from '../resources/memory-budget.ts'
import type { Principal } from '../signing/tokens.ts'

export interface Session {
  /** Name under which it is kept: a hash of the cookie. */
  readonly name: string
  /** What every form of the session must carry. */
  readonly csrf: string
  /** Checked again on each request. */
  readonly token: string
  readonly subject: string
  /** Aborts when the session ends: what it holds open ends with it. */
  readonly over: AbortController
}

/** A session beside its token: its secrets and its signal. */
const SESSION_BYTES = 1_024
/** Subjects whose sessions are counted. */
const SUBJECTS_MAX = 10_000
/** One subject that signs in over and over pushes out its own sessions, nobody else's. */
const PER_SUBJECT_MAX = 20
const ID_BYTES = 32

export interface Sessions {
  /** The cookie's value of a new session. */
  create(token: string, principal: Principal): string
  find(cookie: string | undefined): Session | undefined
  end(session: Session): void
}

export function createSessions(now: () => number, memory: MemoryBudget): Sessions {
  const sessions = new LRUCache<string, Session>({
    maxSize: memory.limitOf('sessions'),
    sizeCalculation: ({ token, subject }) => SESSION_BYTES + 2 * (token.length + subject.length),
    perf: { now },
    dispose: (session) => session.over.abort(),
  })
  const bySubject = new LRUCache<string, readonly string[]>({ max: SUBJECTS_MAX })
  memory.watch('sessions', () => sessions.calculatedSize)

  const forget = (session: Session): void => {
    sessions.delete(session.name)
    const names = (bySubject.get(session.subject) ?? []).filter((name) => name !== session.name)
    if (names.length === 0) bySubject.delete(session.subject)
    else bySubject.set(session.subject, names)
  }
  return {
    create: (token, { tenant, subject, expiresAt }) => {
      const cookie = randomBytes(ID_BYTES).toString('base64url')
      const name = nameOf(cookie)
      const owner = JSON.stringify([tenant, subject])
      const names = (bySubject.get(owner) ?? []).filter((known) => sessions.has(known))
      const surplus = Math.max(0, names.length - PER_SUBJECT_MAX + 1)
      for (const oldest of names.splice(0, surplus)) sessions.delete(oldest)
      bySubject.set(owner, [...names, name])
      const csrf = randomBytes(ID_BYTES).toString('base64url')
      const over = new AbortController()
      // Every stream of the session listens to it: many listeners are no leak.
      setMaxListeners(0, over.signal)
      sessions.set(name, { name, csrf, token, subject: owner, over }, { ttl: Math.max(1, expiresAt - now()) })
      return cookie
    },
    find: (cookie) => (cookie === undefined ? undefined : sessions.get(nameOf(cookie))),
    end: forget,
  }
}

/** By its hash: a look-up takes the same time whatever was guessed, and what is kept opens nothing. */
function nameOf(cookie: string): string {
  return createHash('sha256').update(cookie).digest('base64url')
}
