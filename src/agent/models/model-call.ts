/** @module `run.model`: a call of any provider through the caller's own function. */
import type { Json } from '../../../schemas/json.ts'
import { amount, aName, anything, callable, checkOptions, group, type OptionRules } from '../option-rules.ts'
import type { ExecutionContext } from '../runtime/execution-context.ts'
import { askModel, type ModelCallContext } from './ask-model.ts'
import { MODEL_SETTINGS } from './check-model.ts'
import { jsonable } from './jsonable.ts'
import { bytesOf, type ModelSettings } from './model-settings.ts'
import type { ModelUsage } from './price-table.ts'

/**
 * A model call through the caller's own function, for `run.model`: the request, how it is sent, and its usage. Tokens are counts; `timeout` and `leaseMs` are
 * in milliseconds.
 */
export interface ModelCall<Request, Response> extends ModelSettings {
  readonly provider: string
  readonly model: string
  /** Is recorded, and distinguishes calls at the same place. */
  readonly request: Request
  /** Calls the provider, with the provider's own retries turned off. Not called if the record has the answer. */
  readonly call: (request: Request, context: ModelCallContext) => Response | Promise<Response>
  /** The usage reported by the provider; if undefined or absent, the whole reservation is charged as an estimate. */
  readonly usage?: (response: Response) => ModelUsage | undefined
  /** Estimated tokens; the default for the input is counted from the request. `outputTokens` is the caller's own limit. */
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

/** Returns the response as read back from JSON, so that live and recorded responses are the same. */
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
