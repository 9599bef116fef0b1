// The researcher's stand-in model: searches for the question's longer words at once, reads what it found at once, then answers.
import type { LanguageModelV4Prompt } from "@ai-sdk/provider";
import { z } from "zod";
import type { LocalScript } from "../../durable-objects/model/local-model.ts";
import { lastUserText, resultsOf, toolsAnswered } from "./local-prompt.ts";

const MAX_WORDS = 3;
const MAX_ARTICLES = 3;

const FoundSchema = z.object({ articles: z.array(z.object({ id: z.string() })) });
const ReadSchema = z.object({ title: z.string(), text: z.string() });

export const researcherScript: LocalScript = (prompt) => {
  const answered = toolsAnswered(prompt);
  if (!answered.includes("search_library")) {
    return { calls: wordsOf(prompt).map((word) => ({ tool: "search_library", input: { word } })) };
  }
  const ids = foundIds(prompt);
  if (ids.length > 0 && !answered.includes("read_article")) {
    return { calls: ids.map((id) => ({ tool: "read_article", input: { id } })) };
  }
  const read = resultsOf(prompt, "read_article").flatMap((result) => {
    const parsed = ReadSchema.safeParse(result);
    return parsed.success ? [parsed.data] : [];
  });
  const answer =
    read.length === 0
      ? "The local model found nothing about it in the library."
      : `The local model read: ${read.map(({ title, text }) => `${title}: ${text}`).join(" ")}`;
  return { text: JSON.stringify({ answer, sources: ids }) };
};

/** The longest words of the question, as the local model knows no others that matter. */
function wordsOf(prompt: LanguageModelV4Prompt): string[] {
  const words = [
    ...new Set(
      lastUserText(prompt)
        .toLowerCase()
        .match(/[a-z]{4,60}/g) ?? [],
    ),
  ];
  const longest = words.toSorted((left, right) => right.length - left.length).slice(0, MAX_WORDS);
  return longest.length === 0 ? ["library"] : longest;
}

function foundIds(prompt: LanguageModelV4Prompt): string[] {
  const ids = resultsOf(prompt, "search_library").flatMap((result) => {
    const parsed = FoundSchema.safeParse(result);
    return parsed.success ? parsed.data.articles.map(({ id }) => id) : [];
  });
  return [...new Set(ids)].slice(0, MAX_ARTICLES);
}
