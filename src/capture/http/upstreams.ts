/** @module The file of `serve --mcp`: servers by name, and the rules for their calls. */
import { isJsonObject, type Json, type JsonObject, parseJsonOrUndefined } from '../../../schemas/json.ts'
import { type Effects, OFFICIAL_EFFECTS, parseEffects } from '../effects.ts'

export interface McpUpstream {
  readonly name: string
  readonly url: string
  /** Headers sent with each request: the proxy's credentials for the server, which hosts never see. */
  readonly headers: Readonly<Record<string, string>>
  readonly effects: Effects
  readonly agent?: string
  readonly pin?: string
  readonly whenAway: 'refuse' | 'pass'
}

type Environment = Readonly<Record<string, string | undefined>>
type Parsed<T> = { readonly ok: true; readonly value: T } | { readonly ok: false; readonly message: string }

const NAME = /^[a-z0-9][a-z0-9-]{0,62}$/
const DIGEST = /^sha256:[0-9a-f]{64}$/
const MEMBERS: readonly string[] = ['url', 'headers', 'effects', 'agent', 'pin', 'whenLedgerIsAway']
const FORM = '{"servers": {"NAME": {"url": "http://127.0.0.1:3001/mcp", "effects": "everything"}}}'

/** Returns an error message if the text is not a valid file. */
export function parseUpstreams(text: string, env: Environment): Parsed<ReadonlyMap<string, McpUpstream>> {
  const file = parseJsonOrUndefined(text)
  const servers = isJsonObject(file) ? file.servers : undefined
  if (!isJsonObject(servers) || Object.keys(servers).length === 0) return fault(`it takes ${FORM}`)
  const found = new Map<string, McpUpstream>()
  for (const [name, value] of Object.entries(servers)) {
    if (!NAME.test(name)) return fault(`the name "${name}": it takes up to 63 of a-z, 0-9 and -`)
    const read = isJsonObject(value) ? upstreamOf(name, value, env) : fault(`it takes ${FORM}`)
    if (!read.ok) return fault(`the server ${name}: ${read.message}`)
    found.set(name, read.value)
  }
  return { ok: true, value: found }
}

function upstreamOf(name: string, value: JsonObject, env: Environment): Parsed<McpUpstream> {
  const { url, headers = {}, effects, agent, pin, whenLedgerIsAway = 'refuse' } = value
  const unknown = Object.keys(value).find((member) => !MEMBERS.includes(member))
  if (unknown !== undefined) return fault(`"${unknown}" is no member; it takes ${MEMBERS.join(', ')}`)
  if (typeof url !== 'string' || !URL.canParse(url) || !/^https?:/.test(url))
    return fault('url takes an http(s) address')
  if (agent !== undefined && (typeof agent !== 'string' || agent === '')) return fault('agent takes a name')
  if (pin !== undefined && (typeof pin !== 'string' || !DIGEST.test(pin)))
    return fault('pin takes a digest, sha256: and 64 hex digits')
  if (whenLedgerIsAway !== 'refuse' && whenLedgerIsAway !== 'pass')
    return fault('whenLedgerIsAway takes "refuse" or "pass"')
  const rules = effectsOf(effects)
  if (!rules.ok) return rules
  const sent = headersOf(headers, env)
  if (!sent.ok) return sent
  return {
    ok: true,
    value: {
      ...{ name, url, headers: sent.value, effects: rules.value, whenAway: whenLedgerIsAway },
      ...(agent !== undefined && { agent }),
      ...(pin !== undefined && { pin }),
    },
  }
}

function effectsOf(value: Json | undefined): Parsed<Effects> {
  if (value === undefined) return { ok: true, value: {} }
  const official =
    typeof value === 'string' && Object.hasOwn(OFFICIAL_EFFECTS, value) ? OFFICIAL_EFFECTS[value] : undefined
  if (official !== undefined) return { ok: true, value: official }
  if (!isJsonObject(value)) return fault(`effects takes ${Object.keys(OFFICIAL_EFFECTS).join(', ')}, or tools by name`)
  const read = parseEffects(JSON.stringify({ tools: value }))
  return read.ok ? { ok: true, value: read.effects } : fault(`effects: ${read.message}`)
}

/** `{"authorization": {"env": "FILES_AUTHORIZATION"}}`, or the value itself if it is not secret. */
function headersOf(value: Json, env: Environment): Parsed<Readonly<Record<string, string>>> {
  if (!isJsonObject(value)) return fault('headers takes names with texts, or with {"env": "VARIABLE"}')
  const read: [string, string][] = []
  for (const [name, given] of Object.entries(value)) {
    const variable = isJsonObject(given) ? given.env : undefined
    const text = typeof variable === 'string' ? env[variable] : given
    if (typeof variable === 'string' && text === undefined)
      return fault(`headers: ${name}: the variable ${variable} of the environment is not set`)
    if (typeof text !== 'string') return fault(`headers: ${name} takes a text, or {"env": "VARIABLE"}`)
    try {
      new Headers([[name, text]])
    } catch {
      return fault(`headers: ${name} is no header, or its text is none of a header`)
    }
    read.push([name.toLowerCase(), text])
  }
  return { ok: true, value: Object.fromEntries(read) }
}

function fault(message: string): { readonly ok: false; readonly message: string } {
  return { ok: false, message }
}
