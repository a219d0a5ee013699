/** @module `run.model`: any provider, by hand. */
import type { Json } from '../../../schemas/json.ts'
import { amount, aName, anything, callable, checkOptions, group, type OptionRules } from '../option-rules.ts'
import type { ExecutionContext } from '../runtime/execution-context.ts'
import { askModel, type ModelCallContext } from './ask-model.ts'
import { MODEL_SETTINGS } from './check-model.ts'
import { jsonable } from './jsonable.ts'
import { bytesOf, type ModelSettings } from './model-settings.ts'
import type { ModelUsage } from './price-table.ts'

/**
 * A call of a model by hand, for `run.model`: the request, how it is sent, and what it used. Tokens are counts; `timeout` and `leaseMs` are milliseconds.
 */
export interface ModelCall<Request, Response> extends ModelSettings {
  readonly provider: string
  readonly model: string
  /** Goes on record, and is what makes two calls at one place different. */
  readonly request: Request
  /** Calls the provider, with its own retries off. It is not called where the record has the answer. */
  readonly call: (request: Request, context: ModelCallContext) => Response | Promise<Response>
  /** What the provider says it used; undefined or absent: all that was reserved counts, as an estimate. */
  readonly usage?: (response: Response) => ModelUsage | undefined
  /** Tokens that may be used; default for the input: as counted in the request. `outputTokens` is the caller's own bound. */
  readonly estimate?: { readonly inputTokens?: number; readonly outputTokens?: number }
}

const ESTIMATE: OptionRules<NonNullable<ModelCall<unknown, unknown>['estimate']>> = {
  inputTokens: amount,
  outputTokens: amount,
}

const CALL: OptionRules<ModelCall<unknown, unknown>> = {
  ...MODEL_SETTINGS,
  provider: aName,
  model: aName,
  request: anything,
  call: callable,
  usage: callable,
  estimate: group(ESTIMATE),
}

/** The response as it would be read back from JSON, so that live and recorded ones are the same. */
export async function callModel<Request, Response>(
  execution: ExecutionContext,
  query: ModelCall<Request, Response>,
): Promise<Response> {
  checkOptions('run.model', query, CALL, ['provider', 'model', 'call'])
  const { provider, model, estimate = {}, ...settings } = query
  const request = jsonable(query.request, `the request to ${provider}/${model}`)
  const count = settings.countTokens ?? bytesOf
  const answer = await askModel<{ readonly raw: unknown; readonly json: Json }>(execution, {
    provider,
    model,
    request,
    inputTokens: estimate.inputTokens ?? count(JSON.stringify(request)),
    outputTokens: estimate.outputTokens,
    settings,
    call: async (context) => {
      const raw = await query.call(query.request, context)
      return { raw, json: jsonable(raw, `the response of ${provider}/${model}`) }
    },
    usage: ({ raw }) => query.usage?.(raw as Response),
    toJson: ({ json }) => json,
    fromJson: (json) => ({ raw: json, json }),
  })
  return answer.json as Response
}
