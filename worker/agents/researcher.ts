// An agent that reads several things at once: its tools are safe to repeat, so a batch runs in parallel and after a crash simply runs again.
import { z } from "zod";
import { defineAgent, defineTool } from "../../shared/define/index.ts";
import { ARTICLES } from "./researcher.corpus.ts";

const FoundSchema = z.object({
  articles: z.array(z.object({ id: z.string(), title: z.string() })),
});

const searchLibrary = defineTool({
  name: "search_library",
  revision: 1,
  description: "Articles of the library whose title or text has a word.",
  input: z.object({ word: z.string().min(2).max(60) }),
  output: FoundSchema,
  effect: "read",
  execute: ({ word }) => {
    const wanted = word.toLowerCase();
    const articles = ARTICLES.filter(({ title, text }) =>
      `${title} ${text}`.toLowerCase().includes(wanted),
    ).map(({ id, title }) => ({ id, title }));
    return { articles };
  },
});

const readArticle = defineTool({
  name: "read_article",
  revision: 1,
  description: "One article of the library, by its id.",
  input: z.object({ id: z.string().min(1).max(60) }),
  output: z.object({ title: z.string(), text: z.string() }),
  effect: "read",
  execute: ({ id }) => {
    const article = ARTICLES.find((candidate) => candidate.id === id);
    // The model reads this as the call's failure, and may search again.
    if (article === undefined) throw new Error(`there is no article ${JSON.stringify(id)}`);
    return { title: article.title, text: article.text };
  },
});

export const researcher = defineAgent({
  id: "researcher",
  revision: 1,
  description: "Answers questions from a small library, and says which articles it read.",
  input: z.object({ question: z.string().min(3).max(2_000) }),
  output: z.object({ answer: z.string(), sources: z.array(z.string()) }),
  instructions:
    "Answer from the library alone. Search for several words at once, read what looks useful at once, then answer in a few sentences and name the ids of the articles you used. Say so when the library does not know.",
  inputPrompt: ({ question }) => question,
  model: "local/researcher",
  tools: { searchLibrary, readArticle },
  policy: { toolConcurrency: 8 },
});
