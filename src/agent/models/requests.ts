/** @module Shared by the client wrappers: carries out a request, as one answer or as a stream of chunks. */

import type { Json } from '../../../schemas/json.ts'
import { linkedSignal } from '../../resources/linked-signal.ts'
import type { ErrorClass } from '../calls/caught-error.ts'
import { askModel, type ModelCallContext } from './ask-model.ts'
import { askStream } from './ask-stream.ts'
import { type Dialect, type Fields, fieldsIn } from './dialect.ts'
import { jsonable } from './jsonable.ts'
import { bytesOf, type ModelSettings } from './model-settings.ts'
import { placeOfModelCall } from './track-client.ts'
import { TrackedStream } from './tracked-promise.ts'

export interface Asking {
  readonly dialect: Dialect
  readonly settings: ModelSettings
  readonly request: Fields
  /** Error classes of the provider's package. */
  readonly errors?: readonly ErrorClass[]
  /** Calls the provider once; the context's signal ends it. */
  readonly dial: (request: Fields, signal: AbortSignal) => unknown
}

/** Estimated size of the hidden instructions that providers add for tools. */
const TOOLS_TOKENS = 1_024
const FRAME_TOKENS = 64

export async function askAnswer(asking: Asking): Promise<Fields> {
  const { dialect } = asking
  const ask = modelAskOf(asking)
  return askModel<Fields>(placeOfModelCall(`${ask.provider}/${ask.model}`), {
    ...ask,
    call: async (context) => (await asking.dial(sent(asking, context), context.signal)) as Fields,
    usage: dialect.usage,
    toJson: (answer) => jsonable(answer, 'the answer'),
    fromJson: (json) => json as Fields,
  })
}

/** Returns the stream in the form in which the provider's client returns it. */
export async function askChunks(asking: Asking): Promise<TrackedStream<Fields>> {
  const { dialect, request } = asking
  const ask = modelAskOf(asking)
  const controller = new AbortController()
  const chunks = await askStream<Fields>(placeOfModelCall(`${ask.provider}/${ask.model}`), {
    ...ask,
    open: async (context) => {
      const signal = linkedSignal(context.signal, controller.signal)
      return (await asking.dial(dialect.askingUsage(sent(asking, context)), signal)) as AsyncIterable<Fields>
    },
    usage: (all) => dialect.streamUsage(all.map(fieldsIn)),
    shown: (chunk) => dialect.shown(chunk, request),
    toJson: (chunk) => jsonable(chunk, 'a chunk'),
    fromJson: (json) => json as Fields,
  })
  return new TrackedStream(chunks, controller)
}

function modelAskOf({ dialect, settings, request, errors }: Asking) {
  const json = jsonable(request, `the request to ${dialect.provider}`) as { readonly [name: string]: Json }
  const count = settings.countTokens ?? bytesOf
  const tools = Array.isArray(json.tools) && json.tools.length > 0 ? TOOLS_TOKENS : 0
  return {
    provider: dialect.provider,
    ...(dialect.operation !== undefined && { operation: dialect.operation }),
    model: String(request.model),
    request: json,
    inputTokens: count(JSON.stringify(json)) + tools + FRAME_TOKENS,
    outputTokens: dialect.boundIn(request),
    settings,
    errors,
  }
}

/** Adds the output limit for which budget was reserved, if the caller set none. */
function sent({ dialect, request }: Asking, { maxOutputTokens: bound }: ModelCallContext): Fields {
  return bound === undefined || dialect.boundIn(request) !== undefined ? request : dialect.bounded(request, bound)
}

/** Links the caller's signal, so that it ends the call as well. */
export function callersSignal(options: Fields | undefined, signal: AbortSignal): AbortSignal {
  return options?.signal instanceof AbortSignal ? linkedSignal(signal, options.signal) : signal
}
