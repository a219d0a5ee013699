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
  /** Its key in the table: a hash of the cookie. */
  readonly name: string
  /** What every form of the session must carry. */
  readonly csrf: string
  /** Checked again on each request. */
  readonly token: string
  readonly subject: string
  /** Aborts when the session ends: what it holds open ends with it. */
  readonly over: AbortController
}

/** A session beside its token: its secrets, its signal, and its name in the list of its subject. */
const SESSION_BYTES = 1_280
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
    sizeCalculation: ({ token, subject }) => SESSION_BYTES + 2 * (token.length + 2 * subject.length),
    perf: { now },
    dispose: (session, name) => {
      session.over.abort()
      unlist(session.subject, name)
    },
  })
  /** Names of sessions that are there, so that they take no more than those do. */
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
      // Every stream of the session listens to it: many listeners are no leak.
      setMaxListeners(0, over.signal)
      sessions.set(name, { name, csrf, token, subject: owner, over }, { ttl: Math.max(1, expiresAt - now()) })
      // One that outweighs all there is room for is not stored.
      if (sessions.has(name)) bySubject.set(owner, [...(bySubject.get(owner) ?? []), name])
      return cookie
    },
    find: (cookie) => (cookie === undefined ? undefined : sessions.get(nameOf(cookie))),
    end: ({ name }) => void sessions.delete(name),
  }
}

/** By its hash: a look-up takes the same time whatever was guessed, and what is stored opens nothing. */
function nameOf(cookie: string): string {
  return createHash('sha256').update(cookie).digest('base64url')
}
