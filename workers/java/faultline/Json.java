package faultline;

import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;

/** As much JSON as the protocol needs: objects, arrays, strings, whole numbers, words. */
final class Json {
    private static final int DEPTH_MAX = 32;
    private final String text;
    private int at;

    private Json(String text) {
        this.text = text;
    }

    static Object read(String text) {
        Json json = new Json(text);
        Object value = json.value(0);
        json.blank();
        if (json.at != text.length()) throw new IllegalArgumentException("more text after the JSON value");
        return value;
    }

    static String quote(String text) {
        StringBuilder out = new StringBuilder("\"");
        for (char c : text.toCharArray()) {
            if (c == '"' || c == '\\') out.append('\\').append(c);
            else if (c < ' ' || Character.isSurrogate(c)) out.append(String.format("\\u%04x", (int) (c < ' ' ? c : '?')));
            else out.append(c);
        }
        return out.append('"').toString();
    }

    private void blank() {
        while (at < text.length() && " \t\r\n".indexOf(text.charAt(at)) >= 0) at++;
    }

    private char next() {
        if (at >= text.length()) throw new IllegalArgumentException("the JSON text ends too early");
        return text.charAt(at++);
    }

    private boolean takes(char wanted) {
        blank();
        if (at < text.length() && text.charAt(at) == wanted) {
            at++;
            return true;
        }
        return false;
    }

    private void needs(char wanted) {
        if (!takes(wanted)) throw new IllegalArgumentException("expected " + wanted + " at character " + at);
    }

    private Object value(int depth) {
        if (depth > DEPTH_MAX) throw new IllegalArgumentException("the JSON text is nested too deeply");
        blank();
        if (takes('{')) {
            Map<String, Object> map = new LinkedHashMap<>();
            if (takes('}')) return map;
            do {
                needs('"');
                String key = string();
                needs(':');
                map.put(key, value(depth + 1));
            } while (takes(','));
            needs('}');
            return map;
        }
        if (takes('[')) {
            List<Object> list = new ArrayList<>();
            if (takes(']')) return list;
            do list.add(value(depth + 1)); while (takes(','));
            needs(']');
            return list;
        }
        if (takes('"')) return string();
        int start = at;
        while (at < text.length() && (Character.isLetterOrDigit(text.charAt(at)) || "+-.".indexOf(text.charAt(at)) >= 0)) at++;
        String word = text.substring(start, at);
        switch (word) {
            case "true": return true;
            case "false": return false;
            case "null": return null;
            // Seeds use all 64 bits.
            default: return word.startsWith("-") ? Long.parseLong(word) : Long.parseUnsignedLong(word);
        }
    }

    private String string() {
        StringBuilder out = new StringBuilder();
        while (true) {
            char c = next();
            if (c == '"') return out.toString();
            if (c != '\\') {
                out.append(c);
                continue;
            }
            char escape = next();
            switch (escape) {
                case 'n': out.append('\n'); break;
                case 't': out.append('\t'); break;
                case 'r': out.append('\r'); break;
                case 'b': out.append('\b'); break;
                case 'f': out.append('\f'); break;
                case 'u':
                    if (at + 4 > text.length()) throw new IllegalArgumentException("the JSON text ends too early");
                    out.append((char) Integer.parseInt(text.substring(at, at + 4), 16));
                    at += 4;
                    break;
                default: out.append(escape);
            }
        }
    }
}
