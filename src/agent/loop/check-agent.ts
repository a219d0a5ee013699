/** @module Validates the options of an agent and of a conversation where they are passed in (RUN-192). */
import { aList, anything, checkOptions, type Rule } from '../option-rules.ts'

const MODEL = 'a function of the messages, or a model such as openAiModel(...) makes one'

export const someTools: Rule = (tools) =>
  typeof tools === 'object' && tools !== null && Symbol.iterator in tools
    ? undefined
    : 'a list of tools that cs.tool made'

export const aModel: Rule = (model) => {
  if (typeof model === 'function') return undefined
  const isModel = typeof model === 'object' && model !== null && 'complete' in model
  return isModel && typeof model.complete === 'function' ? undefined : MODEL
}

/** Validates the conversation that an agent is given. Throws `invalid-option`. */
export function checkConversation(conversation: unknown): void {
  const goesOn = typeof conversation === 'object' && conversation !== null && 'messages' in conversation
  const member = goesOn ? 'messages' : 'prompt'
  // A continued conversation may still include its prompt; an agent in a step also receives the step's abort signal.
  const rules = { prompt: anything, messages: goesOn ? aList : anything, abortSignal: anything }
  checkOptions('a conversation', conversation, rules, [member])
}
