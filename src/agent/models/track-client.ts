/**
 * @module A provider's client whose model calls become calls of the run. Other methods that could cost money are refused, so that no present or future helper
 * of the client bypasses the budget.
 */
import { AgentError } from '../errors.ts'
import { currentExecution, type ExecutionContext } from '../runtime/execution-context.ts'

type Method = (...args: readonly unknown[]) => unknown

export interface ClientMap {
  readonly provider: string
  /** Tracked calls by path, such as `chat.completions.create`. `dial` is the client's own method. */
  readonly calls: Readonly<Record<string, (dial: Method, args: readonly unknown[]) => unknown>>
  /** Methods that end in a tracked call of the same client. */
  readonly helpers: ReadonlySet<string>
  /** Methods that return another client. */
  readonly clients: ReadonlySet<string>
  /** Paths of methods that cost nothing. */
  readonly free: RegExp
}

/** Wraps a client so that its calls are tracked. Throws `not-a-client` if it has none of the calls to track. */
export function trackClient<Client extends object>(client: Client, map: ClientMap): Client {
  mustHaveCalls(client, map)
  let root = client
  const resources = new Map<object, object>()

  const resourceAt = (resource: object, path: string): object => {
    const existing = resources.get(resource)
    if (existing !== undefined) return existing
    const tracked = new Proxy(resource, { get: (raw, key) => memberOf(raw, key, path) })
    resources.set(resource, tracked)
    return tracked
  }

  const memberOf = (raw: object, key: string | symbol, path: string): unknown => {
    const value: unknown = Reflect.get(raw, key, raw)
    if (typeof key === 'symbol' || key in Object.prototype) return value
    // Helpers call the client that their resource belongs to, which must be the tracked one.
    if (key === '_client') return root
    const at = path === '' ? key : `${path}.${key}`
    if (typeof value === 'function') return methodAt(raw, value as Method, at)
    return isResource(value, at, map) ? resourceAt(value, at) : value
  }

  const methodAt = (raw: object, method: Method, at: string): Method => {
    const bare: Method = (...args) => Reflect.apply(method, raw, args)
    const call = Object.hasOwn(map.calls, at) ? map.calls[at] : undefined
    if (call !== undefined) return (...args) => call(bare, args)
    if (map.helpers.has(at)) return method
    if (map.clients.has(at)) return (...args) => trackClient(bare(...args) as object, map)
    if (map.free.test(at)) return bare
    return () => {
      const message = `${at} of a tracked ${map.provider} client would spend outside of the run: use the bare client where that is meant`
      throw new AgentError('not-tracked', message, { provider: map.provider, method: at })
    }
  }

  root = resourceAt(client, '') as Client
  return root
}

/** Whether a value leads to a tracked call, or is a resource of the OpenAI or Anthropic client, which refers to its client. */
function isResource(value: unknown, at: string, { calls }: ClientMap): value is object {
  if (typeof value !== 'object' || value === null) return false
  return '_client' in value || Object.keys(calls).some((path) => path.startsWith(`${at}.`))
}

function mustHaveCalls(client: object, { calls, provider }: ClientMap): void {
  const paths = Object.keys(calls)
  if (paths.some((path) => typeof memberAt(client, path) === 'function')) return
  const message = `this is no client of ${provider}: it has none of ${paths.join(', ')}`
  throw new AgentError('not-a-client', message, { provider })
}

function memberAt(client: object, path: string): unknown {
  return path
    .split('.')
    .reduce<unknown>((at, name) => (typeof at === 'object' && at !== null ? Reflect.get(at, name) : undefined), client)
}

/** The execution context of the calling code. Throws `no-active-run`. */
export function placeOfModelCall(what: string): ExecutionContext {
  const execution = currentExecution()
  if (execution !== undefined && execution.undoing !== true) return execution
  const where = execution === undefined ? 'outside of a run' : 'by what undoes a call'
  throw new AgentError('no-active-run', `${what} was called ${where}: use the bare client there`, { what })
}
