/** What a call of a model used, every member filled. */
export const MODEL_USAGE = {
  tokens: 30,
  inputTokens: 20,
  outputTokens: 10,
  cost: '0.25',
  currency: 'USD',
  provider: 'p',
  model: 'm-1',
}
