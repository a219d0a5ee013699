/** @module What providers stream, and what clients ask of them in the tests of the gateway. */
import { event } from './gateway-rig.ts'

export const USAGE = { prompt_tokens: 9, completion_tokens: 4, total_tokens: 13 }
export const PRICES = {
  currency: 'USD',
  models: { 'gpt-5-mini': { input: '1', output: '10' }, 'claude-sonnet-4-5': { input: '3', output: '15' } },
}
export const HELLO = [{ role: 'user', content: 'Say hello.' }] as const
export const ASK = { model: 'gpt-5-mini', max_completion_tokens: 50, messages: [...HELLO] }
export const ASK_CLAUDE = { model: 'claude-sonnet-4-5', max_tokens: 50, messages: [...HELLO] }

export const chunk = (delta: object, finish_reason: string | null = null): object => ({
  ...{ id: 'c-1', object: 'chat.completion.chunk', created: 1, model: 'gpt-5-mini' },
  choices: [{ index: 0, delta, finish_reason }],
})
export const USAGE_FRAME = event({ id: 'c-1', object: 'chat.completion.chunk', created: 1, choices: [], usage: USAGE })
export const CHAT = [
  event(chunk({ role: 'assistant', content: '' })),
  event(chunk({ content: 'hel' })),
  event(chunk({ content: 'lo' })),
  event(chunk({}, 'stop')),
  USAGE_FRAME,
  event('[DONE]'),
]
export const MESSAGES = [
  event(
    {
      type: 'message_start',
      message: {
        ...{ id: 'm-1', type: 'message', role: 'assistant', model: 'claude-sonnet-4-5', content: [] },
        ...{ stop_reason: null, stop_sequence: null },
        usage: { input_tokens: 7, cache_read_input_tokens: 2, cache_creation_input_tokens: 1, output_tokens: 1 },
      },
    },
    'message_start',
  ),
  event({ type: 'content_block_start', index: 0, content_block: { type: 'text', text: '' } }, 'content_block_start'),
  event({ type: 'ping' }, 'ping'),
  event({ type: 'content_block_delta', index: 0, delta: { type: 'text_delta', text: 'hel' } }, 'content_block_delta'),
  event({ type: 'content_block_delta', index: 0, delta: { type: 'text_delta', text: 'lo' } }, 'content_block_delta'),
  event({ type: 'content_block_stop', index: 0 }, 'content_block_stop'),
  event({ type: 'message_delta', delta: { stop_reason: 'end_turn' }, usage: { output_tokens: 5 } }, 'message_delta'),
  event({ type: 'message_stop' }, 'message_stop'),
]
