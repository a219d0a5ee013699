/**
 * @module The file of `serve --gateway`: the providers' endpoints, prices, and which key may use which models. It refers to provider keys but does not contain
 * them.
 */
import { z } from 'zod'
import { parseJsonOrUndefined } from '../../../schemas/json.ts'
import { Name } from '../../../schemas/names.ts'
import { BudgetLimits, Tokens } from '../../../schemas/values.ts'
import { checkedPrices, type PriceTable } from '../../agent/models/price-table.ts'
import { schemaErrors } from '../../signing/schema-errors.ts'

/** The provider, which determines the format of requests. */
export type ProviderName = 'openai' | 'anthropic'

const OUTPUT_DEFAULT = 4_096

const KeyPlace = z.union([z.strictObject({ env: z.string().min(1) }), z.strictObject({ file: z.string().min(1) })])

const Upstream = z.strictObject({
  /** URL up to the version, such as `https://api.openai.com/v1`. */
  url: z.url({ protocol: /^https?$/, error: 'takes a URL that begins with https:// or http://' }),
  key: KeyPlace,
  /** Non-public addresses to which the host may resolve. */
  allow: z.array(z.string().min(1)).optional(),
})

const Price = z.strictObject({
  input: z.string(),
  output: z.string(),
  cachedInput: z.string().optional(),
  cacheWrite: z.string().optional(),
  maxOutputTokens: z.int().min(1).optional(),
})

const KeyRule = z.strictObject({
  tenant: Name.optional(),
  subject: Name.optional(),
  agent: Name.optional(),
  /** Model names; a name that ends in `*` matches all models with that prefix. */
  models: z.array(z.string().min(1)).min(1),
})

const GatewayFile = z.strictObject({
  upstreams: z.strictObject({ openai: Upstream.optional(), anthropic: Upstream.optional() }),
  prices: z.strictObject({ currency: z.string(), models: z.record(z.string(), Price) }).optional(),
  keys: z.array(KeyRule).min(1).optional(),
  /** Budget of the runs that the gateway starts. */
  budget: BudgetLimits.optional(),
  /** Output tokens reserved for an answer if neither the request nor the price of its model sets a limit. */
  maxOutputTokens: Tokens.min(1).default(OUTPUT_DEFAULT),
})

export type GatewayFile = Omit<z.infer<typeof GatewayFile>, 'prices'> & { readonly prices?: PriceTable | undefined }
export type KeyPlace = z.infer<typeof KeyPlace>

type Parsed = { readonly ok: true; readonly file: GatewayFile } | { readonly ok: false; readonly message: string }

export function parseGatewayFile(text: string): Parsed {
  const value = parseJsonOrUndefined(text)
  if (value === undefined) return { ok: false, message: 'it is no JSON' }
  const checked = GatewayFile.safeParse(value)
  if (!checked.success) {
    const [first] = schemaErrors(checked.error)
    return { ok: false, message: `${first?.pointer ?? ''}: ${first?.message ?? 'it cannot be used'}` }
  }
  const file = checked.data as GatewayFile
  if (file.upstreams.openai === undefined && file.upstreams.anthropic === undefined)
    return { ok: false, message: '/upstreams: name openai, anthropic or both' }
  try {
    if (file.prices !== undefined) checkedPrices(file.prices)
  } catch (error) {
    return { ok: false, message: `/prices: ${error instanceof Error ? error.message : String(error)}` }
  }
  return { ok: true, file }
}

/** The holder of a key, as given by the token. */
export interface KeyHolder {
  readonly tenant: string
  readonly subject: string
  readonly agent?: string
}

/** Without rules, every key may use every model; otherwise a key may use the models of all rules that match it. */
export function mayUse(rules: GatewayFile['keys'], holder: KeyHolder, model: string): boolean {
  if (rules === undefined) return true
  return rules.some(
    ({ models, ...who }) =>
      Object.entries(who).every(([member, value]) => holder[member as keyof KeyHolder] === value) &&
      models.some((name) => (name.endsWith('*') ? model.startsWith(name.slice(0, -1)) : model === name)),
  )
}
